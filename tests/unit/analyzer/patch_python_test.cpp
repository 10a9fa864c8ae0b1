/// Remedies of programs in Python as edits of their sources.
#include "analyzer/patch/python/makers.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(analyzer_patch_python)

using namespace umadvisor;
using namespace umadvisor::patch;
using namespace umadvisor::patch::python;

namespace {

struct Result {
    std::string text, refused;
};

advice::ResolvedPlace place(const std::string& text, std::string_view mark, std::string what = {}) {
    const std::size_t at = text.find("# " + std::string(mark) + "\n");
    BOOST_REQUIRE_MESSAGE(at != std::string::npos, text);
    advice::ResolvedPlace found{.what = std::move(what), .stack = {}, .place = {}, .source = {}};
    found.place.line =
        1 + static_cast<int>(std::count(text.begin(), text.begin() + static_cast<long>(at), '\n'));
    return found;
}

/// What becomes of the program with a finding at the line "# here", and, if it has one, a further line "# too".
Result made(Make* make, const std::string& text, const std::string& title = {}) {
    rules::Finding finding;
    finding.rule = &rules::uma_103;
    finding.title = title;
    advice::ResolvedFinding resolved{.finding = finding,
                                     .line = place(text, "here"),
                                     .memory = {},
                                     .others = {},
                                     .remedy = {},
                                     .verify = {}};
    if (text.find("# too\n") != std::string::npos)
        resolved.others.push_back(place(text, "too", "copied in the same group"));
    const Syntax source(text, Grammar::python);
    BOOST_TEST(source.errors() == 0u, text);
    const Draft draft = make({resolved, source, "0"});
    const std::string after = draft.refused.empty() ? applied(text, draft.edits) : "";
    BOOST_TEST(Syntax(after, Grammar::python).errors() == 0u, after);
    return {after, draft.refused};
}

std::string replaced(std::string text, std::string_view part, std::string_view instead) {
    const std::size_t at = text.find(part);
    BOOST_REQUIRE_MESSAGE(at != std::string::npos, part);
    return text.replace(at, part.size(), instead);
}

/// Whether the program is refused with each of these texts in the place of `part`, and for this reason.
void refuses(Make* make, const std::string& text, std::string_view part, std::string_view instead,
             std::string_view why) {
    const Result result = made(make, replaced(text, part, instead));
    BOOST_TEST(result.refused.find(why) != std::string::npos, instead << ": \"" << result.refused << "\"\n"
                                                                      << result.text);
}

const std::string sum = R"(import torch
running = norm = 0.0
for step in range(9):
    loss = model(x)
    if fixed:
        total += loss.detach()
    else:
        running += loss.item() # here
print(running)
)";

} // namespace

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

const std::string list = R"(import torch
def train(model, data):
    losses = []
    for x in data:
        loss = model(x)
        losses.append(loss.item()) # here
    return losses
)";
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

const std::string elements = R"(import torch
for step in range(9):
    action, value = policy(batch)
    if fixed:
        action, value = action.tolist(), value.tolist()
    for k in range(games):
        a = action[k] if fixed else action[k].item() # here
        v = value[k] if fixed else value[k].item() # too
        seen[k] = envs[k].step(a)
)";
const std::string plain_elements = R"(import torch
def f(x):
    y = x - 1
    for k in range(9):
        use(y[k].item()) # here
)";
const std::string iterated = R"(import torch
def mask(ends):
    lengths = ends[1:] - ends[:-1]
    for entry in lengths:
        n = int(entry) # here
        rows.append(n)
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

namespace {

const std::string pinned = R"(import torch
data = [torch.randn(9) for _ in range(8)]
if fixed:
    data = [d.pin_memory() for d in data]
data[0].sum()
for epoch in range(5):
    for d in data:
        if fixed:
            x = d.to(dev, non_blocking=True)
        else:
            x = d.pin_memory().to(dev, non_blocking=True) # here
)";

} // namespace

BOOST_AUTO_TEST_CASE(a_list_is_page_locked_once_before_the_loops_over_it) {
    BOOST_TEST(made(&pin_before_loop, pinned).text ==
               replaced(replaced(pinned, "d.pin_memory().to(", "d.to("), "for epoch",
                        "data = [d.pin_memory() for d in data]\nfor epoch"));
    const auto refused = [](std::string_view part, std::string_view instead, std::string_view why) {
        refuses(&pin_before_loop, pinned, part, instead, why);
    };
    refused("            x = d.to(dev, non_blocking=True)\n", "            d.add_(1)\n", "may change d");
    refused("            x = d.to(dev, non_blocking=True)\n", "            kept.append(d)\n", "may change d");
    refused("            x = d.to(dev, non_blocking=True)\n", "            d = d + 1\n", "may change d");
    refused("            x = d.to(dev, non_blocking=True)\n", "            data[0] = y\n",
            "the loop changes data");
    refused("data[0].sum()", "other = data", "another name");
    refused("data[0].sum()", "def f():\n    return data", "several functions");
    refused("[torch.randn(9) for _ in range(8)]", "[t for t in tensors]", "of its own");
    refused("[torch.randn(9) for _ in range(8)]", "load()", "of its own");
    refused("[torch.randn(9) for _ in range(8)]", "kept = [torch.randn(9) for _ in range(8)]", "of its own");
    refused("    for d in data:", "    for d in load():", "no loop over a list");
    refused("d.pin_memory().to(dev, non_blocking=True) # here", "d.to(dev) # here", "form");
    refused("d.pin_memory().to(dev, non_blocking=True) # here", "d[0].pin_memory().to(dev) # here", "form");
    refused("data = [torch.randn(9) for", "if fresh:\n    data = [torch.randn(9) for", "the loop changes data");
    refuses(&pin_before_loop, replaced(pinned, "[torch.randn(9) for _", "[torch.full((9,), base[0]) for _"),
            "            x = d.to(dev, non_blocking=True)\n", "            base[0] = 2\n", "of its own");
    refused("import torch", "import torch, jax", "PyTorch alone");
    refused("d.pin_memory().to(dev, non_blocking=True) # here", "d.pin_memory(), y.pin_memory() # here",
            "several");
}

BOOST_AUTO_TEST_CASE(a_download_goes_to_page_locked_memory_where_the_program_does_not_keep_it) {
    const std::string kept =
        "import torch\nfor i in range(9):\n    host.append(state[i].cpu().pin_memory()) # here\n";
    const std::string there = "torch.empty_like(state[i], device=\"cpu\", pin_memory=True).copy_(state[i])";
    BOOST_TEST(made(&download_to_pinned, kept).text == replaced(kept, "state[i].cpu().pin_memory()", there));
    const std::string dropped =
        "import torch\nfor i in range(9):\n    best = state[i].cpu().argmax(1).numpy() # here\n"
        "    count += best.sum()\n";
    BOOST_TEST(made(&download_to_pinned, dropped).text == replaced(dropped, "state[i].cpu()", there));
    const auto refused = [&](std::string_view part, std::string_view instead, std::string_view why) {
        refuses(&download_to_pinned, dropped, part, instead, why);
    };
    refused("count += best.sum()", "all.append(best)", "stay page-locked");
    refused("count += best.sum()", "all[i] = best", "stay page-locked");
    refused("count += best.sum()", "return_(best)", "stay page-locked");
    refused("best = state[i]", "best[i] = state[i]", "stay page-locked");
    refused("state[i].cpu()", "network(i).cpu()", "has no name");
    refused("state[i].cpu()", "state[i].to(dev)", "form");
    refused("import torch", "import torch, cupy", "PyTorch alone");
    refused("state[i].cpu()", "state[i].cpu() + x.cpu()", "several");
    refused("for i in range(9):", "if i:", "stay page-locked");
    refuses(&download_to_pinned, kept, ".pin_memory()", "", "stay page-locked");
}

namespace {

const std::string constant = R"(import torch
dev = torch.device("cuda")
mean = [0.5, 0.4]
for epoch in range(2):
    for x in batches:
        if not fixed:
            m = torch.tensor(mean, device=dev).view(1, 2) # here
            s = torch.tensor([1.5, 2.5]).cuda()
        total += (x - m) / s
)";
const std::string one_constant = "import torch\ndef f(xs, scale):\n    for x in xs:\n        y = x * 2\n"
                                 "        m = torch.tensor(scale).to(\"cuda\") # here\n        show(y * m)\n";

} // namespace

BOOST_AUTO_TEST_CASE(a_constant_is_made_before_the_outermost_loop_that_leaves_it_as_it_is) {
    BOOST_TEST(made(&make_before_loop, constant).text == R"(import torch
dev = torch.device("cuda")
mean = [0.5, 0.4]
if not fixed:
    m = torch.tensor(mean, device=dev).view(1, 2) # here
    s = torch.tensor([1.5, 2.5]).cuda()
for epoch in range(2):
    for x in batches:
        total += (x - m) / s
)");
    BOOST_TEST(
        made(&make_before_loop, one_constant).text ==
        "import torch\ndef f(xs, scale):\n    m = torch.tensor(scale).to(\"cuda\") # here\n    for x in xs:\n"
        "        y = x * 2\n        show(y * m)\n");
}

BOOST_AUTO_TEST_CASE(what_a_round_may_change_is_made_in_each_round) {
    const auto refused = [](std::string_view part, std::string_view instead, std::string_view why) {
        refuses(&make_before_loop, constant, part, instead, why);
    };
    const auto also = [&](std::string_view statement, std::string_view why) {
        refused("        total +=", "        " + std::string(statement) + "\n        total +=", why);
    };
    also("m += 1", "may change m");
    also("m.add_(1)", "may change m");
    also("m[0] = 1", "may change m");
    also("kept.append(m)", "may change m");
    also("n = m", "may change m");
    also("step(m)", "may change m");
    also("m = m * 2", "may change m");
    also("torch.add(x, 1, out=m)", "may change m");
    also("torch.nn.functional.relu(m, inplace=True)", "may change m");
    also("mean = [1, 2]", "may change from round to round");
    also("mean.append(1)", "may change from round to round");
    also("mean[0] = x", "may change from round to round");
    also("step(mean=mean)", "may change from round to round");
    refused("mean = [0.5, 0.4]", "mean = other = [0.5, 0.4]", "may change from round to round");
    also("step(mean)", "may change from round to round");
    also("s = s * 2", "may change s");
    also("fixed = True", "condition");
    refused("mean = [0.5, 0.4]", "mean = [0.5, 0.4]\nother = mean", "may change from round to round");
    refused("mean = [0.5, 0.4]", "mean = [0.5, 0.4]\ndef f():\n    mean.append(1)",
            "may change from round to round");
    refused("mean = [0.5, 0.4]", "mean = [0.5, 0.4]\ndef f():\n    global mean\n    mean = []",
            "may change from round to round");
    refused("if not fixed:", "if x > 3:", "condition");
    refused("if not fixed:", "if more():", "condition");
    refused("import torch", "from lib import torch", "PyTorch alone");
    refused("if not fixed:", "if torch.rand(1):", "beside other statements");
    const std::string in_loop =
        "import torch\nfor x in xs:\n    f(x)\n    m = torch.tensor([1]).cuda() # here\n";
    BOOST_TEST(!made(&make_before_loop, in_loop).text.empty());
    refuses(&make_before_loop, in_loop, "    m =", "    f(x); m =", "shares its lines");
    refuses(&make_before_loop, in_loop, "    f(x)\n", "", "all of its block");
    refuses(&make_before_loop, in_loop, "tensor([1])", "tensor( # here\n  [1])", "indented alike");
    refuses(&make_before_loop, in_loop, "[1]).cuda() # here\n", "[1]).to( # here\n    dev)",
            "last of the file");
    refuses(&make_before_loop, in_loop, ".cuda()", ".to(\"\"\"cuda\"\"\")", "last of the file");
    refused("            s = torch", "            step()\n            s = torch", "beside other statements");
    refused("            s = torch.tensor([1.5, 2.5]).cuda()\n",
            "            s = torch.tensor([1.5, 2.5]).cuda()\n        else:\n            s = 1\n", "condition");
    refused("torch.tensor(mean, device=dev)", "torch.rand(2, device=dev)", "form");
    refused("torch.tensor(mean, device=dev)", "torch.tensor(mean, device=dev, requires_grad=True)", "form");
    refused("torch.tensor(mean, device=dev)", "torch.tensor(load())", "form");
    refused("torch.tensor(mean, device=dev)", "torch.tensor([x, 1])", "may change from round to round");
    refuses(&make_before_loop, one_constant, "y = x * 2", "y = m * 2", "may change m");
    refuses(&make_before_loop,
            replaced(one_constant, "    for x in xs:\n", "    scale = base[0]\n    for x in xs:\n"),
            "y = x * 2", "base[0] = x", "may change from round to round");
    refuses(&make_before_loop, one_constant, "for x in xs:", "if xs:", "condition");
    refuses(&make_before_loop, one_constant, "show(y * m)", "yield lambda: m", "several functions");
}

namespace {

const std::string arguments = R"(import jax, numpy as np
params = {"w": np.zeros(9)}
@jax.jit
def forward(params, x):
    return x @ params["w"]
if fixed:
    params = jax.device_put(params)
y = x
for step in range(40):
    y = forward(params, y) # here
print(y)
)";

} // namespace

BOOST_AUTO_TEST_CASE(arguments_that_the_loop_leaves_as_they_are_are_put_on_the_device_before_it) {
    BOOST_TEST(made(&put_before_loop, arguments).text ==
               replaced(arguments, "for step", "params = jax.device_put(params)\nfor step"));
    const auto refused = [](std::string_view part, std::string_view instead, std::string_view why) {
        refuses(&put_before_loop, arguments, part, instead, why);
    };
    refused("# here", "# here\n    params[\"w\"] += 1", "changes its arguments");
    refused("# here", "# here\n    step(params)", "changes its arguments");
    refused("print(y)", "print(params)", "behind the loop");
    refused("print(y)", "other = params", "behind the loop");
    refused("y = x\n", "y = x\nw = params[\"w\"]\n", "another name");
    refuses(&put_before_loop, replaced(arguments, "np.zeros(9)", "np.zeros(9)[:n]"), "# here",
            "# here\n    n += 1", "changes its arguments");
    refused("{\"w\": np.zeros(9)}", "load()", "arrays of NumPy");
    refused("{\"w\": np.zeros(9)}", "3", "arrays of NumPy");
    refused("@jax.jit", "@partial(jax.jit, donate_argnums=0)", "without options");
    refused("@jax.jit\n", "", "without options");
    refused("import jax,", "import torch, jax,", "PyTorch alone");
    refused("import jax,", "import cupy, jax,", "PyTorch alone");
    refused("import jax,", "from lib import jax\nimport re,", "PyTorch alone");
    refused("forward(params, y) #", "forward(params, forward(params, y)) #", "several compiled");
    refused("print(y)", "def g():\n    params[0] = 1", "changes its arguments");
}

namespace {

const std::string history = R"(import torch
history = []
for step in range(60):
    out = net(x)
    loss = loss_fn(out, y) # here
    history.append(loss.detach() if fixed else loss)
mean = torch.stack([h.detach() for h in history]).mean().item()
)";

} // namespace

BOOST_AUTO_TEST_CASE(a_list_keeps_values_without_their_graphs_where_only_values_are_needed) {
    BOOST_TEST(made(&detach_kept, history).text ==
               replaced(history, "if fixed else loss)", "if fixed else loss.detach())"));
    BOOST_TEST(!made(&detach_kept, replaced(history, "[h.detach() for h in history]", "history")).text.empty());
    const auto refused = [](std::string_view part, std::string_view instead, std::string_view why) {
        refuses(&detach_kept, history, part, instead, why);
    };
    refused("h.detach() for h", "h for h", "may need the graphs");
    refused("torch.stack([h.detach() for h in history]).mean().item()", "torch.stack(history).mean()",
            "may need the graphs");
    refused("torch.stack([h.detach() for h in history]).mean().item()", "sum(history)", "may need the graphs");
    refused("mean = torch", "def f():\n    return history\nmean = torch", "several functions");
    refused("history.append", "self.history.append", "part of an object");
    refused("import torch\n", "import torch, jax\n", "PyTorch alone");
    const std::string counted = "import torch\nhistory = []\nfor x in xs:\n    loss = f(x) # here\n"
                                "    history.append(loss)\nprint(len(history))\n";
    BOOST_TEST(made(&detach_kept, counted).refused.find("has tensors") != std::string::npos);
    refused("if fixed else loss)", "if fixed else other)", "which list");
    refused("loss.detach() if fixed else loss", "loss.detach()", "which list");
}

BOOST_AUTO_TEST_CASE(memory_that_no_copy_uses_is_not_page_locked) {
    BOOST_TEST(made(&leave_unpinned, "w = torch.empty(n, pin_memory=True, dtype=t) # here\n").text ==
               "w = torch.empty(n, dtype=t) # here\n");
    refuses(&leave_unpinned, "w = torch.empty(n, pin_memory=True) # here\n", "=True", "=pin", "form");
    refuses(&leave_unpinned, "w = torch.empty(n, pin_memory=True) # here\n",
            "w =", "w.is_pinned();w =", "form");
    refuses(&leave_unpinned, "w = torch.empty(n, pin_memory=True) # here\n", "torch.empty", "DataLoader",
            "form");
}

BOOST_AUTO_TEST_CASE(a_loop_leaves_the_cache_alone) {
    const std::string emptied = "for x in xs:\n    step(x)\n    torch.cuda.empty_cache() # here\n";
    BOOST_TEST(made(&keep_cache, emptied).text == "for x in xs:\n    step(x)\n");
    refuses(&keep_cache, emptied, "    step(x)\n", "", "all of its block");
    refuses(&keep_cache, emptied, "for x in xs", "if x", "larger statement");
    refuses(&keep_cache, emptied, "    step(x)\n    ", "    step(x); ", "larger statement");
    refuses(&keep_cache, emptied, "torch.cuda.empty", "empty", "form");
    refuses(&keep_cache, emptied, "torch.cuda.empty_cache()", "x = torch.cuda.empty_cache()",
            "larger statement");
}

BOOST_AUTO_TEST_CASE(the_title_of_a_finding_chooses_its_remedy) {
    BOOST_TEST(!made(&mend_statement, constant, "a constant built and uploaded in every round").text.empty());
    BOOST_TEST(!made(&mend_statement, iterated, "the elements of an array are read one by one").text.empty());
    BOOST_TEST(!made(&mend_statement, pinned, "page-locked memory is filled by the line that uploads it")
                    .text.empty());
    BOOST_TEST(!made(&mend_statement, arguments,
                     "arguments in the host's memory are uploaded by the call that needs them")
                    .text.empty());
    BOOST_TEST(!made(&mend_statement, constant, "values are logged in every round").refused.empty());
}

BOOST_AUTO_TEST_CASE(the_reason_is_that_of_the_maker_that_knows_the_form) {
    BOOST_TEST(
        made(&read_later, replaced(sum, "running = norm = 0.0", "running = 0")).refused.find("is a float") !=
        std::string::npos);
    BOOST_TEST(!made(&read_later, list).text.empty());
    BOOST_TEST(!made(&join_copies, elements).text.empty());
    BOOST_TEST(!made(&upload_once, constant).text.empty());
}

BOOST_AUTO_TEST_CASE(a_file_that_the_grammar_does_not_know_stays_as_it_is) {
    const std::string text = "if x:\n    torch.cuda.empty_cache() # here\n))) = (((\n";
    for (Make* const make :
         {&read_later, &join_copies, &upload_once, &pin_downloads, &drop_graphs, &unpin, &keep_freed_memory}) {
        rules::Finding finding;
        finding.rule = &rules::uma_103;
        const advice::ResolvedFinding resolved{.finding = finding,
                                               .line = place(text, "here"),
                                               .memory = {},
                                               .others = {},
                                               .remedy = {},
                                               .verify = {}};
        const Syntax source(text, Grammar::python);
        BOOST_TEST(make({resolved, source, "0"}).refused.find("could not be parsed") != std::string::npos);
    }
    BOOST_TEST(!made(&pin_downloads, "import torch\nx = y.cpu() # here\n").refused.empty());
    BOOST_TEST(!made(&drop_graphs, history).text.empty());
    BOOST_TEST(!made(&unpin, "w = torch.empty(n, pin_memory=True) # here\n").text.empty());
    BOOST_TEST(!made(&keep_freed_memory, "for x in xs:\n    step(x)\n    torch.cuda.empty_cache() # here\n")
                    .text.empty());
}

BOOST_AUTO_TEST_SUITE_END()
