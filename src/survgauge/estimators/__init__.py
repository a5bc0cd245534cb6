"""What a reference set says: Kaplan-Meier, imputed times of censored subjects, losses, Cox."""
