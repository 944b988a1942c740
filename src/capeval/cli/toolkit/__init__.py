"""Parts that commands share: options, inputs, output."""
