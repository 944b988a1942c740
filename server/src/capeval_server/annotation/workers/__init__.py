"""Workers of a campaign: enrollment, panels, training, trust, payment."""
