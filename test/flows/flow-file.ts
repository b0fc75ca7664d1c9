import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import type { Protocol, TrafficPolicy } from '../../src/resources/types.ts'

/** The shape of packetflow.yaml, as far as the entries decide it. */
export interface FlowFile {
  readonly defaults: {
    readonly node: { readonly name: string; readonly addresses: Record<string, string[]> }
    readonly proxy: ProxySettings
  }
  readonly configs: readonly FlowConfig[]
  readonly healthCheckNodePort: {
    readonly cases: readonly { readonly name: string; readonly localReady: number }[]
  }
  readonly noLocalEndpointsMetric: { readonly cases: readonly NoLocalCase[] }
}

export interface ProxySettings {
  readonly masqueradeAll: boolean
  readonly detectLocal: { readonly clusterCIDRs: readonly string[] }
  readonly nodePortAddresses: readonly string[] | null
  readonly localhostNodePorts: boolean
}

export interface FlowConfig {
  readonly id: string
  readonly proxy?: Partial<ProxySettings>
  readonly node?: { readonly labels?: Record<string, string> }
  readonly services: readonly RawService[]
  readonly endpointSlices: readonly RawSlice[]
  readonly steps: readonly FlowStep[]
}

export interface FlowStep {
  readonly change?: Change
  readonly flows: readonly Flow[]
}

export interface Change {
  readonly deleteServices?: readonly string[]
  readonly deleteEndpointSlices?: readonly string[]
  readonly setServiceLabels?: Record<string, Record<string, string>>
  readonly setAffinity?: Record<string, string>
  readonly patchServiceSpec?: Record<string, Partial<RawService['spec']>>
  readonly replaceEndpoints?: Record<string, readonly string[]>
  /** The endpoint that the sticky client was using. */
  readonly deleteEndpointOf?: 'affine'
}

export interface Flow {
  readonly name: string
  readonly src: string
  readonly proto: Protocol
  readonly dst: string
  readonly dport: number
  readonly expect: {
    readonly outcome: 'deliver' | 'reject' | 'drop' | 'unhandled' | 'accept'
    readonly endpoints?: readonly string[] | 'remaining'
    readonly masquerade?: boolean
  }
  readonly http?: { readonly status: number; readonly body: { readonly localEndpoints: number } }
  readonly sticky?: unknown
}

export interface RawService {
  readonly metadata: {
    readonly name: string
    readonly namespace: string
    readonly labels?: Record<string, string>
  }
  readonly spec: {
    readonly type: 'ClusterIP' | 'NodePort' | 'LoadBalancer' | 'ExternalName'
    readonly clusterIPs: readonly string[]
    readonly ports: readonly {
      readonly name: string
      readonly port: number
      readonly protocol: Protocol
      readonly nodePort?: number
    }[]
    readonly externalIPs?: readonly string[]
    readonly loadBalancerSourceRanges?: readonly string[]
    readonly externalTrafficPolicy?: TrafficPolicy
    readonly internalTrafficPolicy?: TrafficPolicy
    readonly healthCheckNodePort?: number
    readonly sessionAffinity?: string
    readonly sessionAffinityConfig?: { readonly clientIP: { readonly timeoutSeconds: number } }
  }
  readonly status?: {
    readonly loadBalancer: { readonly ingress: readonly { ip: string; ipMode?: string }[] }
  }
}

export interface RawSlice {
  readonly metadata: {
    readonly name: string
    readonly namespace: string
    readonly labels: Record<string, string>
  }
  readonly addressType: 'IPv4' | 'IPv6'
  readonly endpoints: readonly RawEndpoint[]
  readonly ports: readonly {
    readonly name: string
    readonly port: number
    readonly protocol: Protocol
  }[]
}

export interface RawEndpoint {
  readonly addresses: readonly string[]
  readonly conditions: {
    readonly ready: boolean
    readonly serving: boolean
    readonly terminating: boolean
  }
  readonly nodeName?: string
  readonly hints?: {
    readonly forZones?: readonly { readonly name: string }[]
    readonly forNodes?: readonly { readonly name: string }[]
  }
}

export interface NoLocalCase {
  readonly iTP: TrafficPolicy | null
  readonly eTP: TrafficPolicy | null
  readonly endpoints: readonly ('local' | 'remote')[]
  readonly internal: number
  readonly external: number
}

export function readFlows(): FlowFile {
  return parse(readFileSync(new URL('packetflow.yaml', import.meta.url), 'utf8')) as FlowFile
}
