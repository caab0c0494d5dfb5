"""The tables of parts of the twenty classes, each with one or several figures."""

from collections.abc import Mapping

from anchornet_tf.datasets.parts_world import (
    table_cattle,
    table_furniture,
    table_household,
    table_person,
    table_pets,
    table_road,
    table_travel,
    table_two_wheels,
)
from anchornet_tf.datasets.parts_world.figure import Figure

FIGURES: Mapping[str, tuple[Figure, ...]] = {
    **table_cattle.FIGURES,
    **table_furniture.FIGURES,
    **table_household.FIGURES,
    **table_person.FIGURES,
    **table_pets.FIGURES,
    **table_road.FIGURES,
    **table_travel.FIGURES,
    **table_two_wheels.FIGURES,
}
