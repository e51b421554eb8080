"""The deployment's configuration."""
