"""Review of responses, blocks, withdrawal."""
