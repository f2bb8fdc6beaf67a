import pytest
from pages import Desk


@pytest.fixture
def desk(tmp_path):
    return Desk(tmp_path)
