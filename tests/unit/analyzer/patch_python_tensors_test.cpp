/// Remedies of programs in Python that pin, keep or move tensors, as edits of their sources.
#include "analyzer/patch/python/makers.hpp"
#include "python_patched.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(analyzer_patch_python_tensors)

using namespace umadvisor;
using namespace umadvisor::patch;
using namespace umadvisor::patch::python;
using namespace python_patched;

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
