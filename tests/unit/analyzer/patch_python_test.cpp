/// Remedies of programs in Python that read or upload one by one, as edits of their sources.
#include "analyzer/patch/python/makers.hpp"
#include "python_patched.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(analyzer_patch_python)

using namespace umadvisor;
using namespace umadvisor::patch;
using namespace umadvisor::patch::python;
using namespace python_patched;

BOOST_AUTO_TEST_CASE(a_sum_of_scalars_is_kept_on_the_device_and_read_behind_the_loop) {
    BOOST_TEST(made(&accumulate_on_device, sum).text == R"(import torch
running = norm = 0.0
for step in range(9):
    loss = model(x)
    if fixed:
        total += loss.detach()
    else:
        running += loss.detach().double() # here
running = float(running)
print(running)
)");
    const std::string nested =
        "import torch\ndef f(net):\n    s = 0.0\n    while go():\n        for p in net:\n"
        "            s += float(p.grad.square().sum()) # here\n    return s\n";
    BOOST_TEST(
        made(&accumulate_on_device, nested).text ==
        "import torch\ndef f(net):\n    s = 0.0\n    while go():\n        for p in net:\n"
        "            s += p.grad.square().sum().detach().double() # here\n    s = float(s)\n    return s\n");
    const std::string each_epoch =
        "import torch\ns = 0.0\nfor e in es:\n    for b in bs:\n        s += (b - 1).item() # here\n"
        "    print(s)\n    s = 0.0";
    BOOST_TEST(
        made(&accumulate_on_device, each_epoch).text ==
        "import torch\ns = 0.0\nfor e in es:\n    for b in bs:\n        s += (b - 1).detach().double() # here\n"
        "    s = float(s)\n    print(s)\n    s = 0.0");
    const std::string last = "import torch\ns = 0.0\nfor b in bs: # here\n    pass\n";
    BOOST_TEST(made(&accumulate_on_device, replaced(last, "# here\n    pass\n", "\n    s += b.item() # here\n"))
                   .text ==
               "import torch\ns = 0.0\nfor b in bs: \n    s += b.detach().double() # here\ns = float(s)\n");
}

BOOST_AUTO_TEST_CASE(a_sum_that_something_else_needs_stays_a_number) {
    const auto refused = [](std::string_view part, std::string_view instead, std::string_view why) {
        refuses(&accumulate_on_device, sum, part, instead, why);
    };
    refused("    loss = model(x)\n", "    loss = model(x) / running\n", "uses it otherwise");
    refused("    loss = model(x)\n", "    running += 1.0\n", "uses it otherwise");
    refused("print(running)\n", "def show():\n    print(running)\n", "several functions");
    refused("print(running)\n", "def reset():\n    global running\n    running = 0\n", "several functions");
    refused("running = norm = 0.0", "running = norm = 0", "is a float");
    refused("running = norm = 0.0", "running = start()", "is a float");
    refused("running = norm = 0.0\n", "", "is a float");
    refused("running = norm = 0.0", "if fresh:\n    running = 0.0", "is a float");
    refused("running = norm = 0.0\n", "running = 0.0\nrunning += x\n", "is a float");
    refused("import torch", "import torch, jax", "PyTorch alone");
    refused("loss.item()", "loss.cpu().item()", "form");
    refused("loss.item()", "float(measure(loss))", "form");
    refused("loss.item()", "float(len(loss))", "form");
    refused("loss.item()", "2 * loss.item()", "form");
    refused("running += loss", "running -= loss", "form");
    refused("running += loss", "self.running += loss", "form");
    const std::string tried = "import torch\ns = 0.0\ntry:\n    for b in bs:\n        s += b.item() # here\n"
                              "except KeyboardInterrupt:\n    print(s)\n";
    BOOST_TEST(made(&accumulate_on_device, tried).refused.find("exception") != std::string::npos);
}

namespace {

const std::string jax_list = "import jax\nlosses, other = [], []\nfor step in range(9):\n"
                             "    loss = update()\n    losses.append(float(jax.device_get(loss))) # here\n";

} // namespace

BOOST_AUTO_TEST_CASE(a_list_of_scalars_is_kept_on_the_device_and_read_behind_the_loop) {
    BOOST_TEST(made(&append_on_device, list).text == R"(import torch
def train(model, data):
    losses = []
    for x in data:
        loss = model(x)
        losses.append(loss.detach().clone()) # here
    if losses:
        losses[:] = torch.stack(losses).flatten().tolist()
    return losses
)");
    const std::string numbers = made(&append_on_device, replaced(list, "loss.item()", "float(loss)")).text;
    BOOST_TEST(numbers.find("torch.stack(losses).flatten().double().tolist()") != std::string::npos);
    BOOST_TEST(
        made(&append_on_device, jax_list).text ==
        "import jax\nlosses, other = [], []\nfor step in range(9):\n    loss = update()\n"
        "    losses.append(loss) # here\nif losses:\n    losses[:] = map(float, jax.device_get(losses))\n");
}

BOOST_AUTO_TEST_CASE(a_list_that_something_else_needs_keeps_numbers) {
    const auto refused = [](std::string_view part, std::string_view instead, std::string_view why) {
        refuses(&append_on_device, list, part, instead, why);
    };
    refused("        loss = model(x)\n", "        loss = model(x, losses[-1])\n", "uses it otherwise");
    refused("losses = []", "losses = [0.5]", "is empty");
    refused("losses = []", "losses = other = []", "is empty");
    refused("    losses = []\n", "    if data:\n        losses = []\n", "is empty");
    refused("    for x in data:\n        loss = model(x)\n        losses.append(loss.item()) # here\n",
            "    try:\n      for x in data:\n        losses.append(x.item()) # here\n    except E:\n        "
            "print(losses)\n",
            "exception");
    refused("losses = []", "losses = []\n    losses.append(1.0)", "between");
    refused("    losses = []\n    for x in data:\n",
            "    losses = []\n    for e in es:\n      print(losses)\n      for x in data:\n", "is empty");
    refused("    losses = []\n", "", "several functions");
    refused("(loss.item())", "((loss.item(), 1))", "form");
    refused("losses.append", "x = losses.append", "form");
    refused("    return losses", "    return lambda: losses", "several functions");
    refuses(&append_on_device, jax_list, "update()", "update(donate=True)", "donate");
    refuses(&append_on_device, jax_list, "import jax", "import jax, torch", "PyTorch alone");
}

namespace {

const std::string stacked = R"(import torch
ids, probs = [], []
for step in range(9):
    p, i = model(x).max(-1)
    ids.append(i[0])
    probs.append(p[0])
print(len(ids))
out = torch.tensor(ids) # here
)";

} // namespace

BOOST_AUTO_TEST_CASE(a_list_of_scalars_on_the_device_is_read_with_one_copy) {
    BOOST_TEST(made(&stack_then_read, stacked).text ==
               replaced(stacked, "torch.tensor(ids)", "torch.stack(ids).detach().cpu()"));
    const auto refused = [](std::string_view part, std::string_view instead, std::string_view why) {
        refuses(&stack_then_read, stacked, part, instead, why);
    };
    refused("ids, probs = [], []", "ids, probs = [1], []", "starts as an empty list");
    refused("ids, probs = [], []", "ids, probs = start()", "starts as an empty list");
    refused("ids, probs = [], []", "ids = other = []; probs = []", "starts as an empty list");
    refused("ids.append(i[0])", "ids.append(i[0] if step else 0)", "appended to alone");
    refused("import torch\n", "import torch\ntorch.set_default_device(\"cuda\")\n", "on the device");
    refused("import torch\n", "import torch\nwith torch.device(\"cuda\"):\n    warm()\n", "on the device");
    refused("probs.append(p[0])", "ids.append(p[0])", "several places");
    refused("print(len(ids))", "ids.append(0)", "appended to alone");
    refused("print(len(ids))", "ids[0] = 0", "appended to alone");
    refused("print(len(ids))", "ids.extend(other)", "appended to alone");
    refused("print(len(ids))", "fill(ids)", "appended to alone");
    refused("print(len(ids))", "ids += other", "appended to alone");
    refused("print(len(ids))", "other = ids", "appended to alone");
    refused("print(len(ids))", "def f():\n    ids.append(1)", "several functions");
    refused("torch.tensor(ids)", "torch.tensor(ids, dtype=torch.half)", "form");
    refused("import torch", "import torch, cupy", "PyTorch alone");
}

namespace {

const std::string plain_elements = R"(import torch
def f(x):
    y = x - 1
    for k in range(9):
        use(y[k].item()) # here
)";

} // namespace

BOOST_AUTO_TEST_CASE(elements_that_a_loop_reads_one_by_one_are_copied_before_it) {
    BOOST_TEST(made(&read_before_loop, elements).text == R"(import torch
for step in range(9):
    action, value = policy(batch)
    if fixed:
        action, value = action.tolist(), value.tolist()
    host_action = None if fixed else action.cpu()
    host_value = None if fixed else value.cpu()
    for k in range(games):
        a = action[k] if fixed else host_action[k].item() # here
        v = value[k] if fixed else host_value[k].item() # too
        seen[k] = envs[k].step(a)
)");
    BOOST_TEST(made(&read_before_loop, plain_elements).text ==
               "import torch\ndef f(x):\n    y = x - 1\n    host_y = y.cpu()\n    for k in range(9):\n"
               "        use(host_y[k].item()) # here\n");
    BOOST_TEST(made(&read_before_loop, iterated).text ==
               replaced(iterated, "in lengths:", "in lengths.cpu():"));
}

BOOST_AUTO_TEST_CASE(elements_of_what_the_loop_may_change_are_read_where_they_are) {
    const auto refused = [](std::string_view part, std::string_view instead, std::string_view why) {
        refuses(&read_before_loop, plain_elements, part, instead, why);
    };
    refused("        use(", "        y[k + 1] = 0\n        use(", "may change y");
    refused("        use(", "        y.add_(1)\n        use(", "may change y");
    refused("        use(", "        x.add_(1)\n        use(", "may change y");
    refused("y = x - 1", "y = z = x - 1", "one tensor");
    refused("y[k].item()", "y[k, i].item()", "indices are numbers");
    refused("y[k].item()", "y[x].item()", "indices are numbers");
    refused("range(9)", "ks", "indices are numbers");
    refused("        use(", "        k = x[k]\n        use(", "indices are numbers");
    refused("        use(", "        step(y)\n        use(", "may change y");
    refused("        use(", "        y = step()\n        use(", "may change y");
    refused("    y = x - 1\n", "    y = x - 1\n    z = y.view(-1)\n", "another name");
    refused("    y = x - 1\n", "    y = x - 1\n    host_y = 1\n", "has the name");
    refused("    y = x - 1\n", "    y = [a for a in x]\n", "one tensor");
    refused("    y = x - 1\n", "    y = get(x)\n", "one tensor");
    refused("    y = x - 1\n", "    if x:\n        y = x - 1\n", "before the loop");
    refused("        use(", "        if k % 2:\n          use(", "some rounds");
    refused("    for k in range(9):\n    ", "    if k:\n    ", "one loop");
    refuses(&read_before_loop, elements, "if fixed else action[k].item()", "if k else action[k].item()",
            "some rounds");
    refuses(&read_before_loop, elements, "value[k].item() # too", "other() # too", "another line");
    const auto stays = [](std::string_view part, std::string_view instead, std::string_view why) {
        refuses(&read_before_loop, iterated, part, instead, why);
    };
    stays("rows.append(n)", "rows.append(entry)", "used otherwise");
    stays("rows.append(n)", "lengths[0] = n", "may change lengths");
    stays("        rows.append(n)\n", "    print(entry + 1)\n", "used otherwise");
    stays("in lengths:", "in list(lengths):", "not over a name");
    stays("ends[1:] - ends[:-1]", "split(ends)", "one tensor");
    stays("ends[1:] - ends[:-1]", "[a for a in ends]", "one tensor");
}

BOOST_AUTO_TEST_CASE(tensors_are_stacked_before_they_are_uploaded) {
    const std::string uploads =
        "import torch\ndev = torch.device(\"cuda\")\n"
        "batch = torch.stack([torch.from_numpy(f).to(dev) for f in seen], dim=1) # here\n";
    BOOST_TEST(made(&stack_then_upload, uploads).text ==
               "import torch\ndev = torch.device(\"cuda\")\n"
               "batch = torch.stack([torch.from_numpy(f) for f in seen], dim=1).to(dev) # here\n");
    BOOST_TEST(made(&stack_then_upload, "b = torch.stack([f.cuda() for f in seen]) # here\n").text ==
               "b = torch.stack([f for f in seen]).cuda() # here\n");
    const auto refused = [&](std::string_view part, std::string_view instead, std::string_view why) {
        refuses(&stack_then_upload, uploads, part, instead, why);
    };
    refused(".to(dev)", ".to(dev, torch.half)", "form");
    refused(".to(dev)", ".to(kind)", "is a device");
    refused("torch.device(\"cuda\")", "torch.half", "is a device");
    refused("for f in seen", "for f, dev in seen", "is a device");
    refused("for f in seen", "for f in seen if f.any()", "form");
    refused("dim=1", "out=kept", "of its own");
}

BOOST_AUTO_TEST_SUITE_END()
