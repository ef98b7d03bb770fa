def total(order):
    return sum(line.price * line.count for line in order.lines)
