/** What a server shows its clients, in PEM. */
export interface ServingCertificate {
  readonly cert: string
  readonly key: string
  /** What clients must trust; undefined: an authority that they know already. */
  readonly authority: string | undefined
}

export interface CertificateSource {
  /**
   * What to serve with from now on. Makes, renews or reads again what has to be;
   * while nothing changes, the answer is equal to the one before.
   * @throws NP_ORCHSERVER_CERTIFICATE, NP_ORCHSERVER_FILE
   */
  current(): Promise<ServingCertificate>
}
