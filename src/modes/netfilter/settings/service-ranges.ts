import { type Cidr, cidrContains } from '../../../lib/ip.ts'
import { isWithin, networkDifference } from '../../../lib/ip-range.ts'
import type { NetfilterConfiguration } from './configuration.ts'
import type { ModeInputs } from './mode-inputs.ts'

/** What the ranges follow from. */
export interface ServiceRangeInputs extends Pick<ModeInputs, 'node' | 'serviceCIDRs'> {
  readonly config: Pick<NetfilterConfiguration, 'serviceCIDRs' | 'clusterCIDR'>
}

/** The Service ranges: which of their addresses are refused when no Service has them, and which are left alone. */
export interface ServiceRanges {
  /** Without those below; none overlaps another. */
  readonly refused: readonly Cidr[]
  /** Ranges in which this node has its own address, or that have every address: nothing in them is refused. */
  readonly ofNode: readonly Cidr[]
  /** Ranges with the network of Pods inside, or inside of it: addresses of Pods are not refused. */
  readonly ofPods: readonly Cidr[]
}

/**
 * The ranges of the configuration, or else of the API server. A cluster whose Service range overlaps that of its nodes
 * or Pods works as long as no address is in use twice, so refusing what no Service has must not be what breaks it.
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
