"""Tables and words of a validation study, ready for a paper."""
