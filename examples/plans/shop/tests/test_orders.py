from app.orders import total


def test_total_of_nothing():
    assert total(type("Order", (), {"lines": []})()) == 0
