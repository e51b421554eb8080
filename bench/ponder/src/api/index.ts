// All rows in the order of the chain, with amounts as text.
import { Hono } from "hono";
import { asc } from "ponder";
import { db } from "ponder:api";
import { transfer } from "ponder:schema";

const app = new Hono();
app.get("/rows", async (context) => {
  const rows = await db.select().from(transfer).orderBy(asc(transfer.block), asc(transfer.logIndex));
  return context.json(
    rows.map((row) => [Number(row.block), row.logIndex, row.sender, row.recipient, String(row.amount)]),
  );
});
export default app;
