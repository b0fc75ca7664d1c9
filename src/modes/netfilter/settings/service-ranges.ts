import { type Cidr, cidrContains } from '../../../lib/ip.ts'
import { isWithin, networkDifference } from '../../../lib/ip-range.ts'
import type { NetfilterConfiguration } from './configuration.ts'
import type { ModeInputs } from './mode-inputs.ts'

/** The inputs for the ranges. */
export interface ServiceRangeInputs extends Pick<ModeInputs, 'node' | 'serviceCIDRs'> {
  readonly config: Pick<NetfilterConfiguration, 'serviceCIDRs' | 'clusterCIDR'>
}

/** The Service ranges: those whose unused addresses are refused, and those that are left alone. */
export interface ServiceRanges {
  /** Without the ranges below; they do not overlap. */
  readonly refused: readonly Cidr[]
  /** Ranges that contain an address of this node, or every address: nothing in them is refused. */
  readonly ofNode: readonly Cidr[]
  /** Ranges that contain, or are contained in, the network of Pods: addresses of Pods are not refused. */
  readonly ofPods: readonly Cidr[]
}

/**
 * The ranges of the configuration, or else of the API server. A cluster whose Service range overlaps that of its nodes
 * or Pods works as long as no address is used twice; refusing unused addresses must not break it.
 */
export function serviceRanges({ config, node, serviceCIDRs }: ServiceRangeInputs): ServiceRanges {
  const configured = config.serviceCIDRs
  if (configured === 'none') return { refused: [], ofNode: [], ofPods: [] }
  const ranges = configured.length > 0 ? configured : (serviceCIDRs ?? [])
  const ofNode = ranges.filter(
    (one) => one.endsWith('/0') || node?.addresses.some((ip) => cidrContains(one, ip)),
  )
  const pods = [...config.clusterCIDR, ...(node?.podCIDRs ?? [])]
  const others = ranges.filter((one) => !ofNode.includes(one))
  const ofPods = others.filter((one) =>
    pods.some((network) => isWithin(one, network) || isWithin(network, one)),
  )
  return { refused: networkDifference(others, pods), ofNode, ofPods }
}
