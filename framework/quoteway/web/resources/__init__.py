"""One file per noun of the API, and what they share."""
