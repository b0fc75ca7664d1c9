import { own, type Raw } from '../../../resources/raw.ts'
import { changeEach } from '../shared/edit.ts'
import { defaultProtocol } from '../shared/protocol.ts'

export function defaultEndpoints(endpoints: Raw): Raw {
  return changeEach(endpoints, 'subsets', (subset) => changeEach(subset, 'ports', defaultProtocol))
}

export function defaultEndpointSlice(slice: Raw): Raw {
  return changeEach(slice, 'ports', defaultSlicePort)
}

function defaultSlicePort(port: Raw): Raw {
  return own(port, 'name') === undefined
    ? { ...defaultProtocol(port), name: '' }
    : defaultProtocol(port)
}
