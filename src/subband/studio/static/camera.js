// The browser's camera: one frame at a time goes up to the server, the next after its result came back.

const PATIENCE = 1000;
const QUALITY = 0.9;

export class Camera {
  /** @param {(header: any, payload: ArrayBuffer) => void} send */
  constructor(send) {
    this.send = send;
    this.stream = null;
    this.video = document.createElement('video');
    Object.assign(this.video, { muted: true, playsInline: true });
    this.canvas = document.createElement('canvas');
    this.number = 0;
    this.isSending = false;
    this.timer = 0;
    this.paused = false;
    /** Rises with each start and stop, so that a camera that comes too late is known. */
    this.turn = 0;
  }

  get isOn() {
    return this.stream !== null;
  }

  /** Wait for the camera; whoever stops or starts it meanwhile makes this one vain. */
  async start() {
    if (!navigator.mediaDevices?.getUserMedia) {
      throw new Error('Browsers give the camera only to https and localhost; come through an SSH tunnel or TLS');
    }
    const wanted = { width: { ideal: 640 }, height: { ideal: 360 }, frameRate: { ideal: 30 } };
    this.stop();
    const { turn } = this;
    let stream;
    try {
      stream = await navigator.mediaDevices.getUserMedia({ video: wanted, audio: false });
    } catch (error) {
      throw new Error(error.name === 'NotAllowedError'
        ? 'The camera was not allowed; allow it in the address bar and try again'
        : `No camera: ${error.message || error.name}`);
    }
    if (turn !== this.turn) {
      // else its light would stay on
      stream.getTracks().forEach((track) => track.stop());
      return;
    }
    this.stream = stream;
    this.video.srcObject = stream;
    await this.video.play();
  }

  stop() {
    this.turn += 1;
    window.clearTimeout(this.timer);
    this.stream?.getTracks().forEach((track) => track.stop());
    this.stream = null;
    this.video.srcObject = null;
  }

  /** Send the newest frame, now that the last was answered. */
  async next() {
    window.clearTimeout(this.timer);
    if (!this.isOn || this.isSending || this.paused) return;
    const { videoWidth: width, videoHeight: height } = this.video;
    this.timer = window.setTimeout(() => this.next(), PATIENCE);
    if (!width || !height) return;
    this.isSending = true;
    try {
      if (this.canvas.width !== width || this.canvas.height !== height) Object.assign(this.canvas, { width, height });
      this.canvas.getContext('2d', { alpha: false }).drawImage(this.video, 0, 0);
      const blob = await new Promise((resolve) => this.canvas.toBlob(resolve, 'image/jpeg', QUALITY));
      if (!this.isOn || !blob) return;
      this.number += 1;
      this.send({ type: 'camera', number: this.number, format: 'jpeg', width, height }, await blob.arrayBuffer());
    } finally {
      this.isSending = false;
    }
  }
}
