// Matrix times vector, the matrix in compressed rows: the matrix stays where it is, the host makes each product
// into the next vector.
#include "tests/gpu/programs/work.hpp"

KERNEL multiply(DevicePtr<const unsigned> row_start, DevicePtr<const unsigned> column,
                DevicePtr<const unsigned> value, DevicePtr<const unsigned> x, DevicePtr<unsigned> y,
                std::size_t rows) {
    GRID_STRIDE_LOOP(row, rows) {
        unsigned sum = 0;
        const unsigned end = row_start[row + 1];
        for (unsigned at = row_start[row]; at < end; ++at) {
            const unsigned where = column[at], factor = value[at];
            sum += factor * x[where];
        }
        y[row] = sum;
    }
}

int main(int argc, char** argv) {
    managed::Work work(argc, argv, {160, 16, 10});
    const std::size_t per_row = 8, rows = work.count<unsigned>(2 * per_row + 3);
    auto* const row_start = work.allocate<unsigned>(rows + 1);
    auto* const column = work.allocate<unsigned>(rows * per_row);
    auto* const value = work.allocate<unsigned>(rows * per_row);
    auto* const x = work.allocate<unsigned>(rows);
    auto* const y = work.allocate<unsigned>(rows);
    for (std::size_t row = 0; row <= rows; ++row)
        row_start[row] = static_cast<unsigned>(row * per_row);
    for (std::size_t at = 0; at < rows * per_row; ++at) {
        column[at] = static_cast<unsigned>((at / per_row + at % per_row * 1021) % rows);
        value[at] = static_cast<unsigned>(at % 9);
    }
    for (std::size_t row = 0; row < rows; ++row)
        x[row] = static_cast<unsigned>(row % 1000);

    bool right = true;
    while (work.next_round()) {
        if (work.round() == 0) {
            work.to_device(row_start, rows + 1);
            work.to_device(column, rows * per_row);
            work.to_device(value, rows * per_row);
        }
        work.to_device(x, rows);
        work.to_device(y, rows);
        LAUNCH(multiply, 264, 256, nullptr, row_start, column, value, x, y, rows);
        work.to_host(x, rows);
        work.to_host(y, rows);
        CHECK(cudaDeviceSynchronize());
        unsigned first = 0;
        for (std::size_t at = 0; at < per_row; ++at)
            first += static_cast<unsigned>(at % 9) * x[at * 1021 % rows];
        right = right && y[0] == first;
        for (std::size_t row = 0; row < rows; ++row)
            x[row] = y[row] % 1000;
    }
    return work.conclude(x, rows, right);
}
