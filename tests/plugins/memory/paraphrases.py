"""What a user said, and the same asked for in other words; and turns about other things."""

from __future__ import annotations

import random

PARAPHRASES = [
    ("My daughter was born in March.", "When is my little girl's birthday?"),
    ("I am allergic to peanuts.", "Which nuts must not be in my food?"),
    ("We moved to Lisbon last summer.", "What city do I live in now?"),
    ("My car broke down on the motorway.", "What happened to my vehicle?"),
    ("I work as a nurse at the children's hospital.", "What is my job?"),
    ("Our dog is called Biscuit.", "What is the name of my pet?"),
    ("I can't stand loud music in restaurants.", "What annoys me when eating out?"),
    ("The doctor told me to cut down on salt.", "What medical advice about my diet did I get?"),
    ("I prefer the window seat when flying.", "Where do I like to sit on a plane?"),
    ("My brother is getting married in October.", "When is the wedding of my sibling?"),
    ("I have been learning the cello for two years.", "Which instrument do I play?"),
    ("The landlord raised our rent again.", "Did my housing get more expensive?"),
    ("I lost my passport in Madrid.", "Where did I mislay my travel document?"),
    ("We are vegetarians at home.", "Does my family eat meat?"),
    ("My boss wants the report by Friday.", "What is the deadline at work?"),
    ("I ran my first marathon in Berlin.", "Where did I do a long distance race?"),
    ("The washing machine leaks.", "Which household appliance is dripping water?"),
    ("My grandmother taught me to bake bread.", "Who showed me how to make loaves?"),
    ("I'm afraid of spiders.", "What creatures scare me?"),
    ("We adopted two kittens from the shelter.", "What young cats did we take in?"),
    ("My laptop battery dies after an hour.", "What is wrong with my computer?"),
    ("I studied chemistry at university.", "What was my degree in?"),
    ("The heating in the office does not work.", "Why is it cold where I work?"),
    ("I take my coffee without sugar.", "How do I like my hot drinks?"),
    ("My wife speaks fluent Japanese.", "Which foreign language does my spouse know?"),
    ("Our flight to Oslo was cancelled.", "Which air journey did not take place?"),
    ("I collect old stamps.", "What is my hobby with postage?"),
    ("The roof was damaged by the storm.", "What did the bad weather destroy on the house?"),
    ("My son failed his maths exam.", "Which school test did my boy not pass?"),
    ("I gave up smoking in January.", "When did I quit cigarettes?"),
    ("We painted the kitchen yellow.", "What colour are the walls where we cook?"),
    ("I broke my ankle skiing.", "How did I injure my foot?"),
    ("My favourite author is Agatha Christie.", "Who writes the novels I love most?"),
    ("I bought shares in a solar company.", "What renewable energy investment did I make?"),
    ("The neighbours complained about our party.", "Who was upset about the noise we made?"),
    ("I sleep badly when the moon is full.", "When do I have insomnia?"),
    ("My parents keep bees in the garden.", "Which insects do mum and dad raise?"),
    ("I forgot my umbrella on the train.", "What did I leave behind on the railway?"),
    ("We had our honeymoon in Iceland.", "Where did we go after getting married?"),
    ("My bank card was swallowed by the machine.", "What happened at the cash dispenser?"),
]


def filler(count: int) -> list[str]:
    """Turns of a help desk, all different."""
    chance = random.Random(3)
    people = ["the customer", "a colleague", "our supplier", "the new trainee", "the auditor", "a visitor"]
    things = ["invoice", "printer", "contract", "parcel", "password", "meeting room", "spreadsheet", "licence", "order"]
    doings = ["asked about", "could not find", "sent back", "wants to change", "has approved", "is waiting for"]
    ends = ["on Monday", "before lunch", "for the second time", "by mail", "at the front desk", "without a reason"]
    return [
        f"Ticket {number}: {chance.choice(people)} {chance.choice(doings)} the {chance.choice(things)} "
        f"{chance.choice(ends)}."
        for number in range(count)
    ]
