import type { ApiClient } from '../../client/http/api-client.ts'
import type { RequestReporter } from '../../client/http/api-failures.ts'
import type { Clock } from '../../lib/clock.ts'
import type { IpAddress } from '../../lib/ip.ts'
import type { Random } from '../../lib/random.ts'
import type { ClusterResolver } from '../../resources/pod-dns.ts'
import type { PodAddresses } from '../network/pod-addresses.ts'
import type { PodNetwork } from '../network/pod-network.ts'
import type { Prober } from '../network/prober.ts'
import type { PodPlan } from '../plan/pod-plan.ts'
import type { Launch } from '../process/launch.ts'
import type { VolumeFolders } from '../volumes/volume-folders.ts'

/** An environment variable. */
export interface Variable {
  readonly name: string
  readonly value: string
}

/** The dependencies that all Pods of the node share. */
export interface NodeTools {
  readonly clock: Clock
  readonly random: Pick<Random, 'below'>
  /** Reads ConfigMaps and Secrets that Pods need, and requests their tokens. */
  readonly client: Pick<ApiClient, 'get' | 'create'>
  /** Milliseconds between two reads of the ConfigMaps and Secrets in volumes. */
  readonly refreshMs: number
  /** Where volumes are kept. */
  readonly folders: Pick<VolumeFolders, 'memory' | 'disk'>
  readonly network: Pick<PodNetwork, 'connect' | 'disconnect' | 'nameOf'>
  readonly addresses: Pick<PodAddresses, 'keep' | 'claim' | 'release'>
  readonly prober: Pick<Prober, 'probe'>
  readonly programs: Pick<Launch, 'nsenter' | 'setpriv'> & { readonly setsid: string }
  /** The prefix of the names of Pods' network namespaces, and of the marks of their processes. */
  readonly namespacePrefix: string
  /** The node's own namespace; undefined: the one of this process. */
  readonly nodeNamespace: string | undefined
  /** How Pods resolve names of the cluster; undefined: as their node does. */
  readonly resolver?: ClusterResolver
  readonly hostIPs: readonly IpAddress[]
  readonly logFolder: string
  /** Variables by which a Pod finds Services. Rejects when the API server cannot be reached. */
  services(pod: PodPlan): Promise<readonly Variable[]>
  readonly reporter: RequestReporter
  /** Failures that the Pod's status cannot show. */
  readonly onError: (error: unknown) => void
}
