/** How far the life of a server has come, as `/readyz` tells those who send it traffic. */
export class Lifecycle {
  #isLoaded = false
  #isClosing = false

  /** The caches hold everything: resources can be served. */
  get isLoaded(): boolean {
    return this.#isLoaded
  }

  /** Traffic should go elsewhere, although what comes is still served. */
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
