import type { Decoded, Problem } from '../problem.ts'
import type { Raw } from '../reader.ts'

/** Valid raw objects for tests, in which a test replaces the part that it is about. */

export interface RawParts {
  readonly metadata?: Raw
  readonly spec?: Raw
  readonly status?: Raw
}

export function rawService({ metadata, spec, status }: RawParts = {}): Raw {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'cart', namespace: 'shop', uid: 'uid-1', ...metadata },
    spec: {
      type: 'ClusterIP',
      clusterIP: '10.96.0.10',
      clusterIPs: ['10.96.0.10'],
      ipFamilies: ['IPv4'],
      ports: [{ name: 'http', protocol: 'TCP', port: 80, targetPort: 8080 }],
      ...spec,
    },
    status: status ?? { loadBalancer: {} },
  }
}

export function rawSlice(parts: Raw & { readonly metadata?: Raw } = {}): Raw {
  const { metadata, ...rest } = parts
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name: 'cart-x7k2p',
      namespace: 'shop',
      labels: { 'kubernetes.io/service-name': 'cart' },
      ...metadata,
    },
    addressType: 'IPv4',
    ports: [{ name: 'http', protocol: 'TCP', port: 8080 }],
    endpoints: [{ addresses: ['10.0.0.1'] }],
    ...rest,
  }
}

export function rawEndpoints(parts: Raw & { readonly metadata?: Raw } = {}): Raw {
  const { metadata, ...rest } = parts
  return {
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: { name: 'cart', namespace: 'shop', ...metadata },
    subsets: [{ addresses: [{ ip: '10.0.0.1' }], ports: [{ name: 'http', port: 8080 }] }],
    ...rest,
  }
}

export function rawNode({ metadata, spec, status }: RawParts = {}): Raw {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'node-1', ...metadata },
    spec: { podCIDRs: ['10.0.1.0/24'], ...spec },
    status: status ?? { addresses: [{ type: 'InternalIP', address: '192.168.0.2' }] },
  }
}

/** The value of an object that decodes without a warning. */
export function sound<T>(decoded: Decoded<T>): T {
  const [problem] = problemsOf(decoded)
  if (problem !== undefined) throw new TypeError(`not sound: ${JSON.stringify(problem)}`)
  return valueOf(decoded)
}

/** The value of an object that can be used, perhaps with warnings. */
export function valueOf<T>(decoded: Decoded<T>): T {
  if (!decoded.ok) throw new TypeError(`not decoded: ${JSON.stringify(decoded.problems)}`)
  return decoded.value
}

export function problemsOf(decoded: Decoded<unknown>): readonly Problem[] {
  return decoded.ok ? decoded.warnings : decoded.problems
}

/** The places of problems: `field value`. */
export function placesOf(problems: readonly Problem[]): readonly string[] {
  return problems.map(({ field, value }) => `${field} ${value}`)
}
