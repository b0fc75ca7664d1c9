import { integer, positiveNumber, text } from '../../../settings/scalar-types.ts'
import type { FieldsOf, PathsUnder } from './configuration.ts'

const LABEL_VALUE = /^([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?$/

/** The connection to the API server, and the node and Services that the daemon serves. */
export const clientFields: FieldsOf<
  PathsUnder<'clientConnection'> | 'hostnameOverride' | 'proxyName'
> = {
  'clientConnection.kubeconfig': {
    flag: 'kubeconfig',
    type: text(),
    fallback: '',
    doc: 'Kubeconfig file with the API server and the credentials. Empty: the service account of the pod.',
  },
  'clientConnection.qps': {
    flag: 'kube-api-qps',
    type: positiveNumber(100_000),
    fallback: 5,
    doc: 'Requests per second to the API server, on average. Watches count once.',
    zeroIsUnset: true,
  },
  'clientConnection.burst': {
    flag: 'kube-api-burst',
    type: integer(0, 100_000),
    fallback: 10,
    doc: 'Requests that may go out at once before clientConnection.qps holds them back.',
    zeroIsUnset: true,
  },
  hostnameOverride: {
    flag: 'hostname-override',
    type: hostnameType(),
    fallback: '',
    doc: 'Name of the Node object of this machine. Empty: the host name. Blanks around it are removed, and letters become lower case.',
  },
  proxyName: {
    flag: 'proxy-name',
    type: text(checkLabelValue, LABEL_VALUE),
    fallback: '',
    doc: 'Serve the Services whose label service-proxy-name has this value. Empty: those without the label.',
  },
}

function hostnameType() {
  const plain = text((name) =>
    name !== '' && name.trim() === '' ? 'write a node name, or "" for the host name' : undefined,
  )
  const decode: typeof plain.decode = (raw) => {
    const read = plain.decode(raw)
    return read.ok ? { ok: true, value: read.value.trim().toLowerCase() } : read
  }
  return { ...plain, decode, fromFlag: decode }
}

function checkLabelValue(value: string): string | undefined {
  return LABEL_VALUE.test(value)
    ? undefined
    : 'write a label value: up to 63 letters, digits, "-", "_" and ".", a letter or digit at both ends'
}
