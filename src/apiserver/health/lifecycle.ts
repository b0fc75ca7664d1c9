/** How far the life of a server has come, as `/readyz` reports it to load balancers. */
export class Lifecycle {
  #isLoaded = false
  #isClosing = false

  /** The caches hold everything: resources can be served. */
  get isLoaded(): boolean {
    return this.#isLoaded
  }

  /** Load balancers should choose other servers, although requests are still served. */
  get isClosing(): boolean {
    return this.#isClosing
  }

  loaded(): void {
    this.#isLoaded = true
  }

  closing(): void {
    this.#isClosing = true
  }
}
