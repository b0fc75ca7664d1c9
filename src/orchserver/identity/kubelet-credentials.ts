import { join } from 'node:path'
import type { KubeletCredentials } from '../../apiserver/context/server-context.ts'
import { KUBELET_CLIENT } from '../../auth/user.ts'
import type { Clock } from '../../lib/clock.ts'
import { belongTogether, certificateFault, keyFault } from '../../lib/tls/pem.ts'
import { type ClientCertificate, clientCertificate } from '../certificates/client-certificate.ts'
import { readAuthorities, readPem, unusable } from '../certificates/pem.ts'
import type { KubeletConfiguration, OrchServerConfiguration } from '../config/configuration.ts'
import { type Followed, type FollowedFilesOptions, followFiles } from './followed-files.ts'

type Paths = Pick<OrchServerConfiguration, 'dataDir' | 'kubelet'>

const HINT =
  'give a client certificate in PEM (--kubelet-client-certificate) and its key without a passphrase (--kubelet-client-key)'

/**
 * The credentials by which the server and kubelets verify each other: files that the operator gives, or else a client
 * certificate and the authority in the data directory, which are created and renewed.
 * @throws NP_ORCHSERVER_CERTIFICATE, NP_ORCHSERVER_FILE
 */
export function followKubeletCredentials(
  { dataDir, kubelet }: Paths,
  { clock, log }: { readonly clock: Clock } & Pick<FollowedFilesOptions<never, never>, 'log'>,
): Promise<Followed<KubeletCredentials>> {
  const client = { file: 'kubelet-client', user: KUBELET_CLIENT, groups: [] }
  const own = clientCertificate(client, { folder: join(dataDir, 'pki'), clock })
  return followFiles({
    read: async (): Promise<KubeletCredentials> => {
      const given = await readGivenKubeletFiles(kubelet)
      const { authority, ...made } = await own.current()
      const isPinning = given.authority === undefined
      return { ...(given.client ?? made), authority: given.authority ?? authority, isPinning }
    },
    parse: (credentials) => credentials,
    what: 'the client certificate for kubelets',
    clock,
    log,
  })
}

/** The files that the operator gives; undefined: they are not configured. */
interface GivenFiles {
  readonly client: ClientCertificate | undefined
  readonly authority: string | undefined
}

/**
 * Reads the configured files, and creates nothing.
 * @throws NP_ORCHSERVER_CERTIFICATE
 */
export async function readGivenKubeletFiles({
  clientCertFile,
  clientKeyFile,
  caFile,
}: KubeletConfiguration): Promise<GivenFiles> {
  const authority = await readAuthorities(
    caFile,
    'give certificates of authorities in PEM (--kubelet-certificate-authority)',
  )
  if (clientCertFile === '') return { client: undefined, authority }
  const [cert, key] = [await readPem(clientCertFile), await readPem(clientKeyFile)]
  refuse(clientCertFile, certificateFault(cert))
  refuse(clientKeyFile, keyFault(key))
  if (belongTogether(cert, key)) return { client: { cert, key }, authority }
  throw unusable(clientCertFile, `and ${clientKeyFile} do not belong together`, HINT)
}

function refuse(path: string, fault: string | undefined): void {
  if (fault !== undefined) throw unusable(path, fault, HINT)
}
