"""Management of challenges by organizers: settings, import, export, moderation."""
