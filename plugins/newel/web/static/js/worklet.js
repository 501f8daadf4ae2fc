// @ts-nocheck - the library of types knows no scope of sound
/** Microphone: gathers samples into pieces of 16-bit PCM, a tenth of a second each, on the thread of the sound. */
class Pieces extends AudioWorkletProcessor {
  constructor() {
    super();
    this.piece = new Int16Array(sampleRate / 10);
    this.filled = 0;
  }

  /** @param {Float32Array[][]} inputs */
  process(inputs) {
    for (const sample of inputs[0]?.[0] ?? []) {
      this.piece[this.filled] = Math.max(-1, Math.min(1, sample)) * 32767;
      this.filled += 1;
      if (this.filled < this.piece.length) continue;
      this.port.postMessage(this.piece.buffer, [this.piece.buffer]);
      this.piece = new Int16Array(sampleRate / 10);
      this.filled = 0;
    }
    return true;
  }
}
registerProcessor("pieces", Pieces);
