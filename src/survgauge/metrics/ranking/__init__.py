"""Whether subjects are ranked in the right order: C-indices and AUC."""
