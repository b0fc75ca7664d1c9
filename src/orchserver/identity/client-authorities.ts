import { join } from 'node:path'
import type { Clock } from '../../lib/clock.ts'
import { openAuthority } from '../certificates/authority.ts'
import { readAuthorities } from '../certificates/pem.ts'
import type { OrchServerConfiguration } from '../config/configuration.ts'

type Paths = Pick<OrchServerConfiguration, 'dataDir' | 'authentication'>

/**
 * The authorities whose client certificates are accepted, in PEM: the one in the data directory, which is created
 * if needed, and those that the operator gives.
 * @throws NP_ORCHSERVER_CERTIFICATE, NP_ORCHSERVER_FILE
 */
export async function readClientAuthorities(
  { dataDir, authentication }: Paths,
  clock: Pick<Clock, 'now'>,
): Promise<string> {
  const own = await openAuthority(join(dataDir, 'pki'), clock.now())
  const given = await readGivenAuthorities(authentication)
  return [own.cert, given ?? ''].join('\n')
}

/**
 * The authorities that the operator gives; undefined: no file is configured.
 * @throws NP_ORCHSERVER_CERTIFICATE
 */
export function readGivenAuthorities({
  clientCAFile,
}: Paths['authentication']): Promise<string | undefined> {
  return readAuthorities(clientCAFile, 'give certificates of authorities in PEM (--client-ca-file)')
}
