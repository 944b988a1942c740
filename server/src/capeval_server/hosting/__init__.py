"""Management of a challenge by its organizers: settings, import, export, moderation."""
