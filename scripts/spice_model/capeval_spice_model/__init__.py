"""The model of SPICE, for capeval to find."""
