// What every page is given.
import type { Answer, Quoteway } from "../../../../clients/typescript/src/index.js";
import type { Choice } from "./wallets.js";

export type NetworkRow = Answer<"listNetworks">["data"][number];

/** The deployment's client, the network that the person chose, and the wallet that can sign for it. */
export interface PageProps {
  client: Quoteway;
  network: NetworkRow;
  wallet: Choice | null;
  /** Whether transactions are being sent: until what came of them is known, nothing else can be asked. */
  isSending: boolean;
  onSending: (isSending: boolean) => void;
}
