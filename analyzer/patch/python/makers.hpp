/// Makers of edits in Python, by what they do, and what several of them ask of a line.
#pragma once

#include "analyzer/patch/draft.hpp"
#include "analyzer/patch/python/uses.hpp"

#include <string_view>

namespace umadvisor::patch::python {

constexpr std::string_view other_form = "its line has no form that a patch is known for";
constexpr std::string_view other_library =
    "the file does not use PyTorch alone, so the text does not show whose "
    "arrays these are";

/// Returns whether the file imports PyTorch and no other library with arrays in device memory.
bool is_torch_alone(const Syntax& source);
/// The tensor that the expression reads one number of: "x" of "x.item()" and of "float(x)". Null where it may
/// be none, or where more than this is read.
Node scalar_read_by(const Node& expression);
/// Returns whether the text shows that the variable, which has elements, is a tensor or an array and no list.
bool is_tensor(const Variable& variable);

Draft accumulate_on_device(const Request& request); ///< "total += x.item()"
Draft append_on_device(const Request& request);     ///< "losses.append(x.item())"
Draft stack_then_read(const Request& request);      ///< "torch.tensor(list of scalars)"
Draft read_before_loop(const Request& request);     ///< "x[k].item()" and "for each in x: int(each)"
Draft stack_then_upload(const Request& request);    ///< "torch.stack([x.to(dev) for x in xs])"
Draft pin_before_loop(const Request& request);      ///< "x.pin_memory().to(dev)" in a loop over a list
Draft make_before_loop(const Request& request);     ///< "m = torch.tensor(mean, device=dev)"
Draft download_to_pinned(const Request& request);   ///< "x.cpu()"
Draft detach_kept(const Request& request);          ///< "history.append(loss)"
Draft leave_unpinned(const Request& request);       ///< "torch.empty(n, pin_memory=True)"
Draft keep_cache(const Request& request);           ///< "torch.cuda.empty_cache()"
Draft put_before_loop(const Request& request);      ///< arguments of a function that JAX compiles

} // namespace umadvisor::patch::python
