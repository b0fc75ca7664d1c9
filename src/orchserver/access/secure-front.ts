import type { ApiServer } from '../../apiserver/api-server.ts'
import type { Clock } from '../../lib/clock.ts'
import { isDeepEqual } from '../../lib/equal.ts'
import { hostPort, type IpAddress } from '../../lib/ip.ts'
import { follow } from '../../lib/regularly.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { ADMIN, type ClientCertificateSource } from '../certificates/client-certificate.ts'
import type { CertificateSource } from '../certificates/serving-certificate.ts'
import type { Followed } from '../identity/followed-files.ts'
import { createFailureLog } from '../system/failure-log.ts'
import { writeKubeconfig } from './kubeconfig.ts'

export interface SecureAddress {
  readonly host: string
  /** 0: any free port. */
  readonly port: number
}

export interface SecureFrontOptions {
  readonly server: Pick<ApiServer, 'listen' | 'advertise'>
  readonly address: SecureAddress
  /** The address at which Pods, and clients that use the kubeconfig, reach the server. */
  readonly advertised: IpAddress
  /** The authorities whose client certificates are accepted. */
  readonly clientAuthorities: Followed<string>
  readonly source: CertificateSource
  /** The client certificate of the administrator, for the kubeconfig. */
  readonly admin: ClientCertificateSource
  /** The path of the kubeconfig that is written for clients. */
  readonly kubeconfig: string
  readonly clock: Clock
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>
}

/** The TLS listener of the server, with its address and certificate kept up to date. */
export interface SecureFront {
  readonly url: string
  /** The authority by which clients verify the server, PEM; undefined: they already trust it. */
  readonly authority: string | undefined
  /**
   * Removes the server from the Service for Pods, and stops renewing certificates. Closing the server closes
   * the socket.
   */
  close(): Promise<void>
}

/**
 * Listens, and publishes how clients reach the server: for operators in a kubeconfig, for Pods in a Service.
 * With every new certificate it serves and publishes that one.
 */
export async function openSecureFront(options: SecureFrontOptions): Promise<SecureFront> {
  const { server, address, source, admin, kubeconfig, clock, log } = options
  const { advertised, clientAuthorities } = options
  // One after the other, because each may create the authority.
  const first = { serving: await source.current(), admin: await admin.current() }
  const listener = await server.listen({
    ...address,
    tls: first.serving,
    clientAuthorities: clientAuthorities.current(),
  })
  clientAuthorities.onChange((next) => listener.replaceClientAuthorities(next))
  const url = `https://${hostPort(advertised, listener.port)}`
  const publish = ({ serving, admin: credential }: typeof first): Promise<void> =>
    writeKubeconfig(kubeconfig, {
      server: url,
      authority: serving.authority,
      user: { name: ADMIN, credential },
    })
  await publish(first)
  const advertisement = advertise(options, listener.port)
  const failing = (message: string) =>
    createFailureLog({ clock, log }, () => ({ level: 'error', message }))
  const servingOrLast = orLast(
    source,
    first.serving,
    failing('the serving certificate could not be renewed'),
  )
  const adminOrLast = orLast(
    admin,
    first.admin,
    failing('the certificate of the administrator could not be renewed'),
  )
  let published = first
  const unfollow = follow({
    clock,
    first,
    read: async () => ({ serving: await servingOrLast(), admin: await adminOrLast() }),
    onChange: async (next) => {
      const isServingNew = !isDeepEqual(next.serving, published.serving)
      const isAdminNew = !isDeepEqual(next.admin, published.admin)
      if (isServingNew) listener.replaceCertificate(next.serving)
      await publish(next)
      published = next
      if (isServingNew) log.info('the serving certificate was renewed')
      if (isAdminNew) log.info('the certificate of the administrator was renewed')
    },
    onError: failing('the kubeconfig could not be written'),
  })
  const close = (): Promise<void> => {
    unfollow()
    return advertisement.stop()
  }
  return { url, authority: first.serving.authority, close }
}

/** Adds the server to the Service by which Pods reach it. */
function advertise({ server, advertised, log }: SecureFrontOptions, port: number) {
  const advertisement = server.advertise({ address: advertised, port })
  const { unreachable: reason } = advertisement
  if (reason !== undefined)
    log.info({ reason }, 'Pods cannot reach this server through its Service')
  return advertisement
}

/**
 * Returns the current certificate of a source, or after an error the one before, so that a failed renewal does
 * not prevent that of other certificates.
 */
function orLast<T>(
  source: { current(): Promise<T> },
  first: T,
  onError: (error: unknown) => void,
): () => Promise<T> {
  let last = first
  return async () => {
    try {
      last = await source.current()
    } catch (error) {
      onError(error)
    }
    return last
  }
}
