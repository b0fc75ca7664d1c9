import type {
  ExplainRequest,
  ExplainResponse,
} from '../../../inspection/generated/inspection_pb.ts'

/** The request to a forwarding table: by `service`, by `dst` and `port`, or by `port` alone: a node port. */
export type DesiredQuery = Pick<
  ExplainRequest,
  'src' | 'dst' | 'port' | 'protocol' | 'inInterface' | 'service'
>

/**
 * What node-proxy wants; a text: why that is not known. Throws NP_INSPECTION_REFUSED where the request is wrong, and
 * NP_INSPECTION_UNREACHABLE where a Service is to be found by name without node-proxy.
 */
export type ReadDesired = (query: DesiredQuery) => Promise<ExplainResponse | string>
