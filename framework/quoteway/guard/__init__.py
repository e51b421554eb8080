"""What a provider proposes, compared with the request, the sealed quote, the bytes and the run."""
