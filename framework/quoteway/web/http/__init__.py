"""HTTP as such: operations, schemas, limits, caching, errors."""
