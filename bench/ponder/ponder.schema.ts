import { onchainTable, primaryKey } from "ponder";

export const transfer = onchainTable(
  "transfer",
  (t) => ({
    block: t.bigint().notNull(),
    logIndex: t.integer().notNull(),
    sender: t.hex().notNull(),
    recipient: t.hex().notNull(),
    amount: t.bigint().notNull(),
  }),
  (table) => ({ pk: primaryKey({ columns: [table.block, table.logIndex] }) }),
);
