/** Speaking with an agent: the microphone and the loudspeaker over the live socket. Nothing is asked before the click. */
import { html, signal, useEffect, useSignal } from "../vendor/preact.js";
import { ApiError, BASE, get } from "./api.js";
import { duration } from "./format.js";
import { app, apps, catchUp, hear, newSession, sendError, session, stored, user } from "./store.js";
import { Button } from "./ui.js";

const HEARS = 16_000, SPEAKS = 24_000;

/** Since when one speaks; null: not at all. */
export const speaking = signal(/** @type {number | null} */ (null));
/** How many pieces of sound were sent and played, which a reader of the page may check. */
export const traffic = signal({ sent: 0, played: 0 });
/** @type {(() => void) | null} */
let end = null;

/** @param {any} error */
function refusal(error) {
  const words = /** @type {Record<string, string>} */ ({
    NotAllowedError: "The browser does not let this page use the microphone: allow it in the page's settings, then try again.",
    NotFoundError: "No microphone was found: connect one, then try again.",
    NotReadableError: "The microphone is in use by another program: close that, then try again.",
  });
  return new ApiError(0, "You cannot be heard.", words[error.name] ?? error.message);
}

/** The microphone of the machine. */
function microphone() {
  if (!navigator.mediaDevices) throw new Error("A browser gives a microphone to pages of https and of this machine only: open the page under one of those.");
  return navigator.mediaDevices.getUserMedia({ audio: { channelCount: 1, echoCancellation: true, noiseSuppression: true } });
}

/** Begin to speak, after a click. */
export async function speak() {
  sendError.value = null;
  /** @type {MediaStream | null} */
  let stream = null;
  try {
    stream = await microphone();
    if (!session.value && !(await newSession())) throw new Error("There is no session.");
    await connect(stream);
  } catch (error) {
    for (const one of stream?.getTracks() ?? []) one.stop();
    sendError.value = refusal(error);
  }
}

/** @param {MediaStream} stream */
async function connect(stream) {
  const at = /** @type {NonNullable<typeof session.value>} */ (session.value);
  const query = new URLSearchParams({ app_name: at.app, user_id: user.value, session_id: at.id, modalities: "AUDIO" });
  const sound = new AudioContext({ sampleRate: HEARS });
  await sound.audioWorklet.addModule(new URL("worklet.js", import.meta.url).href);
  const socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}${BASE}/run_live?${query}`);
  const pieces = new AudioWorkletNode(sound, "pieces");
  sound.createMediaStreamSource(stream).connect(pieces);
  const speaker = loudspeaker();
  traffic.value = { sent: 0, played: 0 };
  pieces.port.onmessage = ({ data }) => {
    if (socket.readyState !== WebSocket.OPEN) return;
    socket.send(JSON.stringify({ blob: { mimeType: `audio/pcm;rate=${HEARS}`, data: encoded(new Uint8Array(data)) } }));
    traffic.value = { ...traffic.value, sent: traffic.value.sent + 1 };
  };
  socket.onopen = () => { speaking.value = Date.now(); };
  socket.onmessage = ({ data }) => heard(JSON.parse(data), speaker, at.id);
  socket.onclose = ({ code, reason }) => {
    speaking.value = null;
    end = null;
    for (const one of stream.getTracks()) one.stop();
    sound.close();
    speaker.close();
    if (code !== 1000) sendError.value = new ApiError(0, "The line broke.", reason || `The server closed it with ${code}: its log has the cause.`);
    catchUp();
  };
  end = () => { if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify({ close: true })); else socket.close(); };
}

/** Stop speaking. */
export const hangUp = () => end?.();

/** What the agent says: its sound is played, the rest is shown. @param {any} event @param {ReturnType<typeof loudspeaker>} speaker @param {string} id */
function heard(event, speaker, id) {
  if (event.interrupted) speaker.silence();
  for (const part of event.content?.parts ?? []) {
    const { mimeType, data } = part.inlineData ?? {};
    if (!mimeType?.startsWith("audio/pcm")) continue;
    speaker.play(data, Number(/rate=(\d+)/.exec(mimeType)?.[1] ?? SPEAKS));
    traffic.value = { ...traffic.value, played: traffic.value.played + 1 };
  }
  hear(event, id);
}

/** Plays pieces one after the other, and forgets them when it is interrupted. */
function loudspeaker() {
  const sound = new AudioContext({ sampleRate: SPEAKS });
  /** @type {Set<AudioBufferSourceNode>} */
  const playing = new Set();
  let next = 0;
  return {
    /** @param {string} data @param {number} rate */
    play(data, rate) {
      const samples = new Int16Array(decoded(data).buffer);
      if (!samples.length) return;
      const buffer = sound.createBuffer(1, samples.length, rate);
      const channel = buffer.getChannelData(0);
      for (let n = 0; n < samples.length; n += 1) channel[n] = samples[n] / 32768;
      const source = sound.createBufferSource();
      source.buffer = buffer;
      source.connect(sound.destination);
      source.onended = () => playing.delete(source);
      next = Math.max(next, sound.currentTime + 0.02);
      source.start(next);
      next += buffer.duration;
      playing.add(source);
    },
    silence() {
      for (const one of playing) one.stop();
      playing.clear();
      next = 0;
    },
    close: () => sound.close(),
  };
}

/** @param {Uint8Array} bytes */
function encoded(bytes) {
  let text = "";
  for (const one of bytes) text += String.fromCharCode(one);
  return btoa(text);
}

/** @param {string} text */
function decoded(text) {
  const raw = atob(text.replace(/-/g, "+").replace(/_/g, "/"));
  const bytes = new Uint8Array(raw.length - (raw.length % 2));
  for (let n = 0; n < bytes.length; n += 1) bytes[n] = raw.charCodeAt(n);
  return bytes;
}

/** The button, only if the agent takes live connections. */
export function Microphone() {
  const isLive = useSignal(false);
  const tick = useSignal(0);
  const since = speaking.value;
  const served = Boolean(apps.value) && !stored.value;
  useEffect(() => {
    isLive.value = false;
    if (app.value && served) get("show_picture", { app_name: app.value }).then((one) => { isLive.value = one.live; }, () => {});
  }, [app.value, served]);
  useEffect(() => {
    if (since === null) return undefined;
    const timer = setInterval(() => { tick.value += 1; }, 1000);
    return () => clearInterval(timer);
  }, [since]);
  useEffect(() => hangUp, [session.value?.id]);
  if (since !== null) {
    return html`<span class="st acc" role="status" data-sent=${traffic.value.sent} data-played=${traffic.value.played}>on the line, ${duration(Math.max(1, Math.round((Date.now() - since) / 1000)))}</span>
      <${Button} icon="stop" label="End the call" onClick=${hangUp}>End the call<//>`;
  }
  return isLive.value ? html`<${Button} kind="quiet" icon="mic" label="Speak with the agent" onClick=${speak} />` : null;
}
