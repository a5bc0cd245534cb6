"""Mutation testing of the numerical core: does a test fail when the code is changed?

`make mutate N=1000 SEED=0` draws mutants at random, runs the quick tests of each one's module, and
writes the share that was noticed, with every mutant that was not, to `mutation.txt`.

Neither mutmut nor cosmic-ray draws a seeded sample, and both start an interpreter (or import NumPy
and SciPy) for each mutant. Here a child is forked from a process that has them already; it imports
the package anew, with the source of one module changed, and runs pytest within itself.
"""
