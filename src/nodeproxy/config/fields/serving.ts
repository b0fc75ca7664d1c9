import type { IpAddress } from '../../../lib/ip.ts'
import { ipAddress, socketAddress } from '../../../settings/network-types.ts'
import { boolean, integer, text } from '../../../settings/scalar-types.ts'
import type { FieldsOf, PathsUnder } from './configuration.ts'

const ANY = '0.0.0.0' as IpAddress
/** An absolute path, or nothing. */
const PATH = /^(\/.*)?$/
const LOOPBACK = '127.0.0.1' as IpAddress

export const HEALTHZ_PORT = 10_256
export const METRICS_PORT = 10_249
const PAGE_PORT = 10_247
const REMOTE_PORT = 10_246

/** What the daemon itself listens on, and how it behaves as a process. */
export const servingFields: FieldsOf<
  | 'bindAddress'
  | 'healthzBindAddress'
  | 'metricsBindAddress'
  | 'bindAddressHardFail'
  | 'oomScoreAdj'
  | PathsUnder<'inspection'>
  | PathsUnder<'logging'>
> = {
  bindAddress: {
    flag: 'bind-address',
    type: ipAddress,
    fallback: ANY,
    doc: 'Address of this node where the Node object names none. Nothing is bound to it; 0.0.0.0 and :: leave the choice to the Node object, and its family is that of the default addresses below.',
    zeroIsUnset: true,
  },
  healthzBindAddress: {
    flag: 'healthz-bind-address',
    type: socketAddress(HEALTHZ_PORT),
    fallback: { ip: ANY, port: HEALTHZ_PORT },
    fallbackNote: '"[::]:10256" when bindAddress is IPv6',
    doc: 'Where /healthz, /livez and /readyz are served. "" serves them nowhere.',
    zeroIsUnset: true,
  },
  metricsBindAddress: {
    flag: 'metrics-bind-address',
    type: socketAddress(METRICS_PORT),
    fallback: { ip: LOOPBACK, port: METRICS_PORT },
    fallbackNote: '"[::1]:10249" when bindAddress is IPv6',
    doc: 'Where /metrics, /configz, /proxyMode and /readyz are served. "" serves them nowhere.',
    zeroIsUnset: true,
  },
  bindAddressHardFail: {
    flag: 'bind-address-hard-fail',
    type: boolean,
    fallback: false,
    doc: 'Exit when one of the two addresses above cannot be bound, instead of trying again.',
  },
  'inspection.socket': {
    flag: 'inspection-socket',
    type: text(socketPath, PATH),
    fallback: '/run/node-proxy/inspect.sock',
    doc: 'Unix socket at which `node-proxy status`, `explain` and the like read this process; an absolute path. "" serves it nowhere.',
  },
  'inspection.gid': {
    flag: 'inspection-gid',
    type: integer(0, 2 ** 32 - 2),
    fallback: 0,
    doc: 'Number of the group whose members may read that socket, beside root.',
  },
  'inspection.pageBindAddress': {
    flag: 'inspection-page-bind-address',
    type: socketAddress(PAGE_PORT),
    fallback: { ip: LOOPBACK, port: PAGE_PORT },
    fallbackNote: '"[::1]:10247" when bindAddress is IPv6',
    doc: 'Where /inspection/v1/ and a page that shows it are served, over HTTP and without a check of the caller: keep it on the loopback. "" serves them nowhere.',
  },
  'inspection.bindAddress': {
    flag: 'inspection-bind-address',
    type: socketAddress(REMOTE_PORT),
    fallback: undefined,
    doc: 'Where /inspection/v1/ is served to other machines, over HTTPS and to callers that may get nodes/proxy of this node; docs/operate/inspection.md. "" serves it nowhere.',
  },
  'inspection.tlsCertFile': {
    flag: 'inspection-tls-cert-file',
    type: text(filePath, PATH),
    fallback: '',
    doc: 'Certificate of inspection.bindAddress, PEM, its own first; an absolute path. It is read again when it is replaced.',
  },
  'inspection.tlsPrivateKeyFile': {
    flag: 'inspection-tls-private-key-file',
    type: text(filePath, PATH),
    fallback: '',
    doc: 'Private key of inspection.tlsCertFile, PEM; an absolute path.',
  },
  'inspection.clientCAFile': {
    flag: 'inspection-client-ca-file',
    type: text(filePath, PATH),
    fallback: '',
    doc: 'Authorities whose client certificates name their holders at inspection.bindAddress, PEM; an absolute path. "": callers need a bearer token.',
  },
  oomScoreAdj: {
    flag: 'oom-score-adj',
    type: integer(-1000, 1000),
    fallback: -999,
    doc: 'Written to /proc/self/oom_score_adj; the lower, the later the kernel kills the daemon for memory. A failure is a warning.',
    reload: 'live',
  },
  'logging.verbosity': {
    flag: 'v',
    type: integer(0, 10),
    fallback: 0,
    doc: 'How much is logged: 0–2 what an operator needs, 3–5 every change, 6–10 every transaction.',
    reload: 'live',
  },
}

/** sockaddr_un has 108 bytes for the path and its end. */
const MAX_SOCKET_PATH = 107

function filePath(path: string): string | undefined {
  return PATH.test(path) ? undefined : 'write an absolute path, or ""'
}

function socketPath(path: string): string | undefined {
  const fault = filePath(path)
  if (fault !== undefined) return fault
  return Buffer.byteLength(path) > MAX_SOCKET_PATH
    ? `write a path of at most ${MAX_SOCKET_PATH} bytes`
    : undefined
}
