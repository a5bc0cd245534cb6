from __future__ import annotations

import naive
import numpy as np
import pytest
from scipy.integrate import quad

from survgauge.errors import InputError
from survgauge.estimators.copulas import FAMILIES, Archimedean, check_tau


def joint_survival(copula, u, v):
    """P(T > t, C > c) where the survival functions are at `u` and `v`."""
    return copula.inverse(np.logaddexp(copula.log_phi(u), copula.log_phi(v)))


CASES = [("clayton", 0.3), ("clayton", 0.8), ("frank", -0.5), ("frank", 0.4), ("gumbel", 0.25)]


@pytest.mark.parametrize(("name", "tau"), CASES)
def test_generator_and_its_inverse(name, tau):
    copula, u = Archimedean.of(name, tau), np.linspace(0.01, 1, 50)
    phi = naive.generator(name, copula.theta)
    np.testing.assert_allclose(np.exp(copula.log_phi(u)), phi(u), rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(copula.inverse(copula.log_phi(u)), u, rtol=1e-13)
    rise = np.exp(copula.log_rise(u[1:], u[:-1]))
    np.testing.assert_allclose(rise, phi(u[:-1]) - phi(u[1:]), rtol=1e-9)


@pytest.mark.parametrize(("name", "tau"), CASES)
def test_joint_survival_has_uniform_margins_and_is_symmetric(name, tau):
    copula, u = Archimedean.of(name, tau), np.linspace(0, 1, 21)
    np.testing.assert_allclose(joint_survival(copula, u, np.ones(21)), u, atol=1e-15)
    assert joint_survival(copula, u, np.zeros(21)).tolist() == [0.0] * 21
    square = joint_survival(copula, u[:, None], u[None, :])
    np.testing.assert_allclose(square, square.T, atol=1e-15)
    weight = np.diff(np.diff(square, axis=0), axis=1)  # no rectangle has a negative probability
    assert weight.min() > -1e-15
    assert weight.sum() == pytest.approx(1)


@pytest.mark.parametrize(("name", "tau"), CASES)
def test_kendalls_tau_is_the_one_asked_for(name, tau):
    """tau = 1 + 4 times the integral of phi / phi'."""
    copula = Archimedean.of(name, tau)
    phi = naive.generator(name, copula.theta)

    def ratio(u):
        h = 1e-4 * u * (1 - u)
        return 2 * h * phi(u) / (phi(u + h) - phi(u - h))

    assert 1 + 4 * quad(ratio, 1e-6, 1 - 1e-6)[0] == pytest.approx(tau, abs=1e-4)


@pytest.mark.parametrize("name", FAMILIES)
def test_almost_no_dependence_is_almost_a_product(name):
    u = np.linspace(0.05, 1, 20)
    joint = joint_survival(Archimedean.of(name, 1e-9), u[:, None], u[None, :])
    np.testing.assert_allclose(joint, u[:, None] * u[None, :], atol=1e-8)


@pytest.mark.parametrize("name", FAMILIES)
def test_very_strong_dependence_is_almost_the_smaller_of_the_two(name):
    u = np.linspace(1e-6, 1, 40)
    joint = joint_survival(Archimedean.of(name, 0.995), u[:, None], u[None, :])
    np.testing.assert_allclose(joint, np.minimum(u[:, None], u[None, :]), atol=5e-3)


@pytest.mark.parametrize("tau", [-0.99, -0.999, -0.9999])
def test_very_strong_opposition_leaves_no_more_than_it_must(tau):
    u = np.linspace(1e-6, 1, 40)
    joint = joint_survival(Archimedean.of("frank", tau), u[:, None], u[None, :])
    least = np.maximum(u[:, None] + u[None, :] - 1, 0)
    np.testing.assert_allclose(joint, least, atol=0.2 * (1 + tau))


@pytest.mark.parametrize("tau", [1, -1, 1.5, np.nan, "0.3", None, True, [0.3]])
def test_values_that_no_dependence_has_are_refused(tau):
    with pytest.raises(InputError, match="kendall_tau must lie strictly between -1 and 1"):
        check_tau("frank", tau)


@pytest.mark.parametrize("name", ["clayton", "gumbel"])
def test_negative_dependence_is_refused_where_the_copula_has_none(name):
    with pytest.raises(InputError, match=r"positive dependence only.*use 'frank'"):
        Archimedean.of(name, -0.2)


def test_copulas_without_a_generator_are_unknown():
    with pytest.raises(InputError, match="copula must be one of"):
        Archimedean.of("gaussian", 0.2)
