"""What a reference set says: Kaplan-Meier, surrogates of censored subjects, losses, Cox."""
