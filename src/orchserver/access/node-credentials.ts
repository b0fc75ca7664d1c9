import { join } from 'node:path'
import type { Clock } from '../../lib/clock.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { KeptCertificate } from '../certificates/kept-certificate.ts'
import { nodeClientCertificate } from '../certificates/node-client-certificate.ts'
import type { OrchServerConfiguration } from '../config/configuration.ts'
import { type Followed, followFiles } from '../identity/followed-files.ts'

/**
 * By which the server and nodes verify each other: its client certificate, which is made and renewed in the data
 * directory, and the authority there.
 * @throws NP_ORCHSERVER_CERTIFICATE, NP_ORCHSERVER_FILE
 */
export function followNodeCredentials(
  { dataDir }: Pick<OrchServerConfiguration, 'dataDir'>,
  { clock, log }: { readonly clock: Clock; readonly log: Pick<Logger, 'info' | 'error'> },
): Promise<Followed<KeptCertificate>> {
  const source = nodeClientCertificate({ folder: join(dataDir, 'pki'), clock })
  return followFiles({
    read: () => source.current(),
    parse: (kept) => kept,
    what: 'the client certificate for nodes',
    ...{ clock, log },
  })
}
