import { ponder } from "ponder:registry";
import { transfer } from "ponder:schema";

ponder.on("Token:Transfer", async ({ event, context }) => {
  await context.db.insert(transfer).values({
    block: event.block.number,
    logIndex: event.log.logIndex,
    sender: event.args.from,
    recipient: event.args.to,
    amount: event.args.value,
  });
});
