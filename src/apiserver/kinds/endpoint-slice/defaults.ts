import { own, type Raw } from '../../../resources/raw.ts'
import { changeEach, defaultProtocol } from '../shared/edit.ts'

export function defaultEndpointSlice(slice: Raw): Raw {
  return changeEach(slice, 'ports', defaultSlicePort)
}

function defaultSlicePort(port: Raw): Raw {
  return own(port, 'name') === undefined
    ? { ...defaultProtocol(port), name: '' }
    : defaultProtocol(port)
}
