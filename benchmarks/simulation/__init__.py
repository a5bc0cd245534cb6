"""Do intervals cover and do tests keep their level? Simulated, through the public interface."""
