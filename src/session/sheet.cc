#include "session/sheet.h"

#include "ampere/device.h"
#include "session/access.h"

namespace ampere {

std::string sheet_note(const DataSheet& sheet) {
  return "nothing was measured on " + sheet.name + ": its data sheet alone tells (" + sheet.source +
         "), so energies are modelled and the interval is wide; the host is anyone's guess";
}

Device Device::from_sheet(const std::string& sheet) {
  const DataSheet found = find_data_sheet(sheet);
  auto impl = std::make_unique<Impl>();
  impl->opened = std::make_unique<Store>(store_of_sheet(found));
  impl->device = impl->opened->devices().front();
  impl->notes.push_back(sheet_note(found));
  return Device(std::move(impl));
}

}  // namespace ampere
