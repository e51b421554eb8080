// A client that openapi-generator made: a quote, its action, and a read of the chain.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"example.test/client/quoteway"
)

func main() {
	url, toToken, address := os.Args[1], os.Args[2], os.Args[3]
	ctx := context.Background()
	configuration := quoteway.NewConfiguration()
	configuration.Servers = quoteway.ServerConfigurations{{URL: url}}
	client := quoteway.NewAPIClient(configuration)

	body := quoteway.NewSwapQuoteBody(address, "native", toToken, "1000000000000000000")
	body.SetNetwork("devnet")
	quote, _, err := client.SwapsAPI.CreateSwapQuote(ctx).SwapQuoteBody(*body).Execute()
	check(err)
	action, _, err := client.SwapsAPI.CreateSwapAction(ctx, quote.QuoteId).ConsentBody(*quoteway.NewConsentBody()).Execute()
	check(err)

	call := quoteway.NewRpcCall("2.0", "eth_chainId")
	id := int64(1)
	call.SetId(quoteway.Int64AsRpcCallId(&id))
	answer, _, err := client.RpcAPI.CallRpc(ctx, "31337").RpcRequest(quoteway.RpcCallAsRpcRequest(call)).Execute()
	check(err)

	wrong := quoteway.NewSwapQuoteBody(address, "native", toToken, "0")
	wrong.SetNetwork("devnet")
	_, _, err = client.SwapsAPI.CreateSwapQuote(ctx).SwapQuoteBody(*wrong).Execute()
	refused := err.(*quoteway.GenericOpenAPIError).Model().(quoteway.Error)
	refusal := [][2]string{}
	for _, field := range refused.Error.Details.Fields {
		refusal = append(refusal, [2]string{field.Path, field.Reason})
	}

	intents := []string{}
	for _, step := range action.Steps {
		intents = append(intents, step.ClearSigning.Intent)
	}
	minimum := quote.ToAmountMin.Get()
	check(json.NewEncoder(os.Stdout).Encode(map[string]any{
		"quoteId":      quote.QuoteId,
		"toAmount":     quote.ToAmount,
		"toAmountMin":  minimum,
		"slippageBps":  quote.Request.SlippageBps,
		"transactions": action.Transactions,
		"intents":      intents,
		"simulated":    action.Simulation.Status,
		"chainId":      answer.RpcAnswer.RpcResult.Result,
		"refusal":      refusal,
	}))
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
