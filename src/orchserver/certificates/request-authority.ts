import type { ApiClient } from '../../client/http/api-client.ts'
import type { RequestAuthority } from '../../controllers/certificates-controller.ts'
import type { Clock } from '../../lib/clock.ts'
import { isJsonObject, valueAt } from '../../lib/json.ts'
import { CERTIFICATES_GROUP } from '../../resources/api-groups.ts'
import { openAuthority } from './authority.ts'
import type { ApprovalFacts } from './signing-request.ts'

export interface RequestAuthorityOptions extends Pick<ApprovalFacts, 'permits' | 'reserved'> {
  /** The folder of the authority. */
  readonly folder: string
  /** The longest life of a certificate, in milliseconds. */
  readonly maxLife: number
  readonly clock: Pick<Clock, 'now'>
}

/** Answers by a SubjectAccessReview of the server; a review that fails permits nothing. */
export function permissionsOf(
  client: Pick<ApiClient, 'create'>,
): RequestAuthorityOptions['permits'] {
  return async ({ name, groups }, permission) => {
    const answer = await client.create('/apis/authorization.k8s.io/v1/subjectaccessreviews', {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      spec: {
        user: name,
        groups: [...groups],
        resourceAttributes: {
          group: CERTIFICATES_GROUP,
          resource: 'certificatesigningrequests',
          subresource: permission,
          verb: 'create',
        },
      },
    })
    return (
      answer.ok && isJsonObject(answer.value) && valueAt(answer.value, 'status', 'allowed') === true
    )
  }
}

/** Decides on requests of kubelets and signs them with the authority in the data directory. */
export function createRequestAuthority(options: RequestAuthorityOptions): RequestAuthority {
  const { folder, maxLife, clock } = options
  return {
    approve: async (request, addresses) => {
      const { approvalOf } = await import('./signing-request.ts')
      return approvalOf(request, { ...options, addresses })
    },
    sign: async (request) => {
      const { signRequest } = await import('./signing-request.ts')
      const issuer = await openAuthority(folder, clock.now())
      return signRequest(request, { issuer, maxLife }, clock.now())
    },
  }
}
